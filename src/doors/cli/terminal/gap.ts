/** Parts of a store that did not answer: named beside whatever is shown, so that a part is not taken for the whole. */
import type { Output } from './output.ts'

const NAMED_MAX = 5

type Gapped = { readonly missing?: readonly string[] }

/** One line; none where the answer is whole. */
export function gapLines({ missing = [] }: Gapped): string[] {
  if (missing.length === 0) return []
  const named = missing.slice(0, NAMED_MAX).join(', ')
  const more = missing.length > NAMED_MAX ? ` and ${missing.length - NAMED_MAX} more` : ''
  const what = missing.length === 1 ? 'what it holds' : 'what they hold'
  return [`${named}${more} did not answer: ${what} is not shown`]
}

export function sayGap(err: Output, gapped: Gapped): void {
  for (const line of gapLines(gapped)) err.line(`${err.style.yellow('!')} ${line}`)
}
