/** The example `nestjs` on the other version of Nest, and behind its other server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'vitest'
import { PostgresDatabase } from '../store/postgres/server.ts'
import { Application, project } from './application.ts'
import { proveNestShop } from './nestjs.ts'

const FASTIFY = `
  import 'reflect-metadata'
  import { NestFactory } from '@nestjs/core'
  import { FastifyAdapter } from '@nestjs/platform-fastify'
  import { AppModule } from './app.module.js'
  const app = await NestFactory.create(AppModule, new FastifyAdapter())
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log('listening on ' + await app.getUrl())
`

it.each([
  ['Nest 11 and Express', 'nest-11', 'main.js'],
  ['Nest 11 and Fastify', 'nest-11', 'fastify.js'],
  ['Nest 12 and Fastify', 'nest-12', 'fastify.js'],
])('nestjs, on %s', async (_name, packages, file) => {
  const directory = await project('nestjs', packages)
  await writeFile(join(directory, 'fastify.js'), FASTIFY)
  const { url } = await PostgresDatabase.make()
  await proveNestShop(await Application.start(directory, { DATABASE_URL: url }, file), url)
})
