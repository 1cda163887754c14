/** What the dead are promised. */
export function never<T>(): Promise<T> {
  return new Promise(() => {})
}
