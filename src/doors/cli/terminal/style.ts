/** Colours, on a terminal that can show them and whose owner has not said no (https://no-color.org). */
import type { ShownState } from '../../../index.ts'

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const

export type Style = { readonly [name in keyof typeof CODES]: (text: string) => string }

export const PLAIN: Style = styleFrom(() => (text) => text)
export const COLOURED: Style = styleFrom(
  ([on, off]) =>
    (text) =>
      text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`,
)

function styleFrom(make: (codes: readonly [number, number]) => (text: string) => string): Style {
  const entries = Object.entries(CODES).map(([name, codes]) => [name, make(codes)] as const)
  return Object.fromEntries(entries) as Style
}

type TerminalFacts = { readonly isTerminal: boolean; readonly env: NodeJS.ProcessEnv }

export function styleFor({ isTerminal, env }: TerminalFacts): Style {
  const isRefused = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb'
  return isTerminal && !isRefused ? COLOURED : PLAIN
}

/** Each state has one colour everywhere. */
export function paintState(state: ShownState, style: Style): string {
  if (state === 'completed') return style.dim(state)
  const paint = { delayed: style.blue, ready: style.yellow, running: style.green, dead: style.red }[state]
  return paint(state)
}
