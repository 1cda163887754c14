/** Takes the write lock of the directory and keeps it until `release` exists, or for ever. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { args, fromBuild, say } from './bare.mjs'

const { connect } = await fromBuild('store/file/database/driver.js')
const connection = connect(path.join(args.directory, 'queue.db'))
connection.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE')
say('holding')
const nap = new Int32Array(new SharedArrayBuffer(4))
while (args.release === undefined || !existsSync(args.release)) Atomics.wait(nap, 0, 0, 20)
connection.exec('ROLLBACK')
connection.close()
say('released')
