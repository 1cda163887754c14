/**
 * Texts that others chose: ids, topics, tags, errors. Whatever they hold, they change nothing around them: each is isolated, so
 * that letters written from right to left do not turn its neighbours round, and control characters stand apart, with their
 * code shown beside them. The text itself stays as it is, for who copies it.
 */
import { Fragment } from 'preact'
import type { JSX } from 'preact'

/** Controls of any kind, and what decides about directions or is not seen at all; lines and tabs are for `pre`. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff])/

export function codeOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

export type TextProps = { readonly text: string }

export function Text({ text }: TextProps): JSX.Element {
  if (!UNSEEN.test(text)) return <bdi>{text}</bdi>
  return (
    <bdi>
      {text.split(UNSEEN).map((part, i) =>
        i % 2 === 0 ? (
          <Fragment key={i}>{part}</Fragment>
        ) : (
          <bdi key={i} class="unseen-char" data-code={codeOf(part)}>
            {part}
          </bdi>
        ),
      )}
    </bdi>
  )
}

/** In one line, cut where it gets too long, with the whole of it in a tooltip. */
export function Name({ text }: TextProps): JSX.Element {
  return (
    <span class="name-cut" title={plainName(text)}>
      <Text text={text} />
    </span>
  )
}

const ISOLATE = '\u2068'
const END = '\u2069'

/** For a sentence, a tooltip or a title, where nothing but letters fits. */
export function plainName(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text
  const shown = text.replaceAll(new RegExp(UNSEEN, 'g'), (char) => `⟨${codeOf(char)}⟩`)
  return `${ISOLATE}${shown}${END}`
}
