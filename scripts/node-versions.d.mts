export function installNode(version: string): string
