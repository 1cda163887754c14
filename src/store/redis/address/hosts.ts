/** URLs that name several hosts. No URL parser of the platform takes them, so that the text is cut up here. */
import { describe } from '../../../core/errors.ts'
import { credentials, invalidUrl, withoutBrackets } from './url.ts'

export type HostsUrl = {
  readonly isTls: boolean
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly login: ReturnType<typeof credentials>
  readonly path: string
  readonly query: URLSearchParams
}

/** What kind of URL it is, and how complaints about it speak. */
export type HostsKind = {
  /** After "redis+". */
  readonly scheme: string
  readonly example: string
  /** What a host is, for one and for several. */
  readonly one: string
  readonly many: string
  readonly port: number
  readonly hostsMax: number
}

export function readHostsUrl(text: string, kind: HostsKind): HostsUrl {
  const parts = /^(rediss?)\+([a-z]+):\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text)
  const [, prefix = '', scheme = '', authority = '', path = '', query = ''] = parts ?? []
  if (scheme.toLowerCase() !== kind.scheme) throw invalidUrl(text, `give ${kind.example}.`)
  const at = authority.lastIndexOf('@')
  if (authority.indexOf('@') !== at) {
    throw invalidUrl(
      text,
      `name and password stand once, before the first ${kind.one}; in them, write %40 for "@".`,
    )
  }
  const hosts = authority
    .slice(at + 1)
    .split(',')
    .map((entry) => hostOf(entry, text, kind))
  if (hosts.length > kind.hostsMax)
    throw invalidUrl(text, `it names ${hosts.length} ${kind.many}; allowed: ${kind.hostsMax}.`)
  return {
    isTls: prefix.toLowerCase() === 'rediss',
    hosts,
    login: loginOf(authority.slice(0, Math.max(at, 0)), text),
    path,
    query: new URLSearchParams(query),
  }
}

function hostOf(
  entry: string,
  whole: string,
  kind: HostsKind,
): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-f:.%]+\]|[^:[\]@\s]+)(?::(\d{1,5}))?$/i.exec(entry) ?? []
  const number = port === '' ? kind.port : Number(port)
  if (host === '' || number < 1 || number > 65_535) {
    throw invalidUrl(
      whole,
      `${describe(entry)} is no ${kind.one}; give host or host:port, divided by commas, as in ${kind.example}.`,
    )
  }
  return { host: withoutBrackets(host), port: number }
}

function loginOf(login: string, whole: string): ReturnType<typeof credentials> {
  const colon = login.indexOf(':')
  const [username, password] = colon < 0 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)]
  decodePart(username + password, whole)
  return credentials(username, password)
}

export function decodePart(text: string, whole: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidUrl(whole, 'a percent sign begins two hexadecimal digits; the sign itself is %25.')
  }
}
