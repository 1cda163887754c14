#!/usr/bin/env node
/** The binary: this process's words, streams and exit code handed to `dispatch`. */
import { systemClock } from '../../clock.ts'
import { dispatch } from './dispatch.ts'
import { Output } from './terminal/output.ts'

const { argv, env, stdin, stdout, stderr } = process
const out = new Output(stdout, env)
const err = new Output(stderr, env)

const code = await dispatch(argv.slice(2), { env, input: stdin, out, err, clock: systemClock })

// What was written to a pipe must get out first. Then the end is made sure: a module of handlers may have left a
// connection open, and a worker that was told to stop must not live on for it.
await Promise.all([out.flush(), err.flush()])
process.exit(code)
