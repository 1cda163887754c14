/** The text of docs/api.md for the package at `root`, which must be built. */
export function renderApi(root: string): Promise<string>
