import type { Server } from 'node:http'

export function buildDocs(outDir: string): Promise<void>
export function serveDocs(folder: string, port: number): Promise<Server>
