/** What operators ask of an engine: is it well, and a copy of it. */

export interface OperatorVerbs {
  /** What an operator should know about this store, worst first. */
  doctor(): Promise<Finding[]>
  /** Makes a copy that can be opened in its place, while the store is in use. */
  backup(directory: string): Promise<void>
}

export type Finding = {
  readonly level: 'problem' | 'warning' | 'fine'
  readonly what: string
  readonly remedy?: string
}
