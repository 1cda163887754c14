/** Where punctual tells an operator what it did. `console` fits, and so do pino and winston. */
export interface Logger {
  info?(message: string): void
  warn(message: string): void
  error(message: string): void
}
