export type LogLine = Readonly<Record<string, unknown>>

export declare class Log {
  constructor(path: string)
  write(...lines: readonly LogLine[]): void
  writeSoon(line: LogLine): void
  close(): void
}
