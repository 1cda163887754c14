/** The pages that are made from the types of the package at `root`, which must be built: file and text. */
export function renderPages(root: string): Promise<Record<string, string>>
