/** Stays in the middle of a read for ever: only its death can end it. */
import path from 'node:path'
import { args, fromBuild, say } from './bare.mjs'

const { connect } = await fromBuild('store/file/database/driver.js')
const connection = connect(path.join(args.directory, 'queue.db'))
connection.exec('BEGIN')
connection.prepare('SELECT count(*) FROM message').get()
say('reading')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
