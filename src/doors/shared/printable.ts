/** Text from elsewhere, made safe to show: it must not move the cursor, colour the screen or break a line. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu, ' ').trim()
}

/** A payload on one line; what JSON cannot show is shown as it was stored. */
export function payloadText(message: { readonly payload: unknown; readonly unreadable?: string }): string {
  if (message.unreadable !== undefined) return printable(message.unreadable)
  return message.payload === undefined ? '' : printable(JSON.stringify(message.payload))
}

/** What an error says, without its stack. */
export function firstLine(error: string): string {
  return printable(error.split('\n', 1)[0] ?? '')
}
