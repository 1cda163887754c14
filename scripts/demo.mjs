// The README's first command: installs and builds what is missing, then runs `punctual demo` in this process, so that
// only it hears Ctrl-C. Options go after two dashes: npm run demo -- --crash
import { buildIfStale, installDependencies } from './setup.mjs'

installDependencies()
buildIfStale()
process.argv.splice(2, 0, 'demo')
await import('../dist/doors/cli/main.js')
