export function writeRepeatables(
  url: string,
  name: string,
  options: {
    readonly repeat: { readonly pattern: string; readonly tz: string; readonly limit?: number }
    readonly removeOnComplete?: boolean
  },
): Promise<{
  readonly names: readonly string[]
  readonly run: (times: number) => Promise<Readonly<Record<string, number>>>
  readonly hash: (key: string) => Promise<Readonly<Record<string, string>>>
  readonly close: () => Promise<void>
}>
export function writeWithoutNext(version: 5 | 6, url: string, name: string): Promise<void>
