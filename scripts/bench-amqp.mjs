// The bridge to RabbitMQ beside its peers: npm run bench:amqp -- --only paced; or: npm run bench:amqp -- clients
import { spawnSync } from 'node:child_process'
import { buildIfStale, installDependencies, installPeers, installPrograms } from './setup.mjs'

installDependencies()
installPrograms()
installPeers()
buildIfStale()
const args = ['--import', 'tsx', 'bench/amqp/main.ts', ...process.argv.slice(2)]
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1)
