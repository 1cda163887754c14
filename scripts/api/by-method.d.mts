/** Every public method and what else is called, by the name that its section has. */
export function callables(root: string): ReadonlyMap<string, unknown>
export type Section = { readonly heading: string; readonly level: number; readonly part: string }
/** The sections of methods.md, in its order. */
export function sectionsOf(text: string): Section[]
