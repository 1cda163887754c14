export function writeBullmq(
  version: 5 | 6,
  url: string,
  name: string,
): Promise<{ readonly laterAt: number; readonly tickAt: number; readonly failedAt: number }>
export function writeManyBullmq(version: 5 | 6, url: string, name: string, count: number): Promise<void>
export function writeBee(url: string, name: string): Promise<{ readonly laterAt: number }>
export function writePgBoss(url: string): Promise<{ readonly now: string; readonly later: string }>
