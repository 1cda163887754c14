// Mutation testing: installs its tools on first use, builds, and hands over to test/mutation/run.mjs, where the options are.
import { join } from 'node:path'
import { ROOT, buildIfStale, installDependencies, installPackage, installPrograms, run } from './setup.mjs'

installDependencies()
installPrograms()
installPackage('test/mutation', 'the tools for mutation testing')
buildIfStale()
run(process.execPath, [join(ROOT, 'test/mutation', 'run.mjs'), ...process.argv.slice(2)])
