/**
 * Messages as JSON. A payload is put into the answer as it is stored, character by character: read and written again it
 * would lose what JavaScript's numbers cannot hold.
 */
import { decodePolicy } from '../../../core/encoding/codec.ts'
import type { StoredMessage } from '../../../index.ts'
import { presentMessage } from '../../../queue/looking/inspection.ts'

export const PAYLOAD_MODES = ['full', 'preview', 'none'] as const
export type PayloadMode = (typeof PAYLOAD_MODES)[number]

const PREVIEW_LENGTH = 200
/** Payloads of one page; those beyond it are left out, and asked for one by one. */
const PAGE_PAYLOAD_LENGTH_MAX = 4 * 1024 * 1024

const NO_PAYLOAD = { payload: undefined }

/** The items of a page, as the text of a JSON array. */
export function pageText(messages: readonly StoredMessage[], mode: PayloadMode): string {
  let left = PAGE_PAYLOAD_LENGTH_MAX
  const texts = messages.map((message) => {
    left -= mode === 'full' ? message.body.length : 0
    return messageText(message, mode === 'full' && left < 0 ? 'none' : mode)
  })
  return `[${texts.join(',')}]`
}

export function messageText(
  message: StoredMessage,
  mode: PayloadMode,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const { body } = message
  const about = {
    ...presentMessage(message, NO_PAYLOAD),
    payloadBytes: Buffer.byteLength(body),
    ...(mode === 'preview' && body !== '' ? { preview: body.slice(0, PREVIEW_LENGTH) } : {}),
    ...more,
  }
  if (mode !== 'full' || body === '') return JSON.stringify(about)
  if (!isJson(body)) return JSON.stringify({ ...about, unreadable: body })
  return `${JSON.stringify(about).slice(0, -1)},"payload":${body}}`
}

export function detailText(message: StoredMessage): string {
  const { tags: _, ...policy } = decodePolicy(message.meta) ?? {} // Its tags are told beside it.
  const hasPolicy = Object.keys(policy).length > 0
  return messageText(message, 'full', { payloadText: message.body, ...(hasPolicy ? { policy } : {}) })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
