#!/usr/bin/env node
/** The binary: this process's words, streams and exit code handed to `dispatch`. */
import { systemClock } from '../clock.ts'
import { dispatch } from './dispatch.ts'
import { Output } from './output.ts'

const { argv, env, stdout, stderr } = process

// The exit code is left behind instead of exiting with it: what was written to a pipe must still get out.
process.exitCode = await dispatch(argv.slice(2), {
  env,
  out: new Output(stdout, env),
  err: new Output(stderr, env),
  clock: systemClock,
})
