/** Waiting for a condition, with a cap that a loaded machine does not reach. */
const LOOK_EVERY_MS = 25
const CAP_MS = 120_000

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export async function until(what: string, condition: () => boolean, capMs = CAP_MS): Promise<void> {
  const giveUpAt = performance.now() + capMs
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`never came true within ${capMs} ms: ${what}`)
    await sleep(LOOK_EVERY_MS)
  }
}
