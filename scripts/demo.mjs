// The README's first command: installs and builds what is missing, then runs `punctual demo` in this process, so that
// Ctrl-C reaches it and nobody else. Options go after two dashes: npm run demo -- --crash
import { buildIfStale, installDependencies } from './setup.mjs'

installDependencies()
buildIfStale()
process.argv.splice(2, 0, 'demo')
await import('../dist/doors/cli/main.js')
