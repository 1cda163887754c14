/** Builds dist/ when a source is newer than it. */
export function buildIfStale(): void
