/** Waiting for a condition, with a generous cap: tests wait for what happens, never for a time. */
const CAP_MS = 120_000
const LOOK_EVERY_MS = 15

export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  const giveUpAt = performance.now() + CAP_MS
  let last: unknown
  while (performance.now() < giveUpAt) {
    try {
      if (await condition()) return
      last = undefined
    } catch (error) {
      last = error // Not yet: the server may still be coming up.
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  throw new Error(`never came true within ${CAP_MS} ms: ${what}`, { cause: last })
}
