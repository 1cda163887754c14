/** Resolves to its directory, in which `main.js` is to be run. `packages`: a folder below test/packages. */
export function makeExampleProject(name: string, packages?: string): Promise<string>
export function removeExampleProject(directory: string): Promise<void>
/** Which packages an example needs. */
export const PACKAGES_OF: Readonly<Record<string, string>>
