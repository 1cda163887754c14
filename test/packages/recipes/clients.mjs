// How each client shares its transaction with punctual: what docs/guides/transactions.md shows is taken from here, and
// test/store/postgres/recipes.test.ts runs all of it.
//
// inTransaction(url, work): begins a transaction, calls `work` with the handle that punctual takes and a function that runs a
// statement of the user's own, commits when `work` is done, and rolls back when it throws.
import { drizzle } from 'drizzle-orm/node-postgres'
import { sql } from 'drizzle-orm'
import knex from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'

async function withPg(url, work) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('begin')
    try {
      await work(client, (text) => client.query(text))
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  } finally {
    await client.end()
  }
}

async function withPostgresJs(url, work) {
  const db = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await db.begin((tx) =>
      work(
        (text, values) => tx.unsafe(text, values),
        (text) => tx.unsafe(text),
      ),
    )
  } finally {
    await db.end()
  }
}

/** A connection that breaks emits `error`, which ends the process where nobody listens: while it is idle, and while it is used. */
function poolOf(url) {
  const pool = new pg.Pool({ connectionString: url })
  pool.on('error', (error) => console.error(error))
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

async function withKysely(url, work) {
  const db = new Kysely({ dialect: new PostgresDialect({ pool: poolOf(url) }) })
  try {
    await db.transaction().execute((trx) =>
      work(
        (text, values) => trx.executeQuery(CompiledQuery.raw(text, values)),
        (text) => trx.executeQuery(CompiledQuery.raw(text)),
      ),
    )
  } finally {
    await db.destroy()
  }
}

async function withKnex(url, work) {
  const db = knex({ client: 'pg', connection: url })
  try {
    await db.transaction((trx) =>
      work(
        (text, values) => trx.raw(text.replace(/\$\d/g, '?'), values),
        (text) => trx.raw(text),
      ),
    )
  } finally {
    await db.destroy()
  }
}

/** A statement with places $1, $2, … as Drizzle writes it. */
const toDrizzle = (text, values) =>
  sql.join(
    text.split(/\$\d/).flatMap((part, i) => [...(i === 0 ? [] : [sql`${values[i - 1]}`]), sql.raw(part)]),
  )

async function withDrizzle(url, work) {
  const pool = poolOf(url)
  try {
    await drizzle(pool).transaction((tx) =>
      work(
        (text, values) => tx.execute(toDrizzle(text, values)),
        (text) => tx.execute(sql.raw(text)),
      ),
    )
  } finally {
    await pool.end()
  }
}

async function withTypeOrm(url, work) {
  const source = new DataSource({ type: 'postgres', url })
  await source.initialize()
  try {
    await source.transaction((manager) => work(manager, (text) => manager.query(text)))
  } finally {
    await source.destroy()
  }
}

export const CLIENTS = {
  pg: withPg,
  'postgres.js': withPostgresJs,
  Kysely: withKysely,
  Knex: withKnex,
  Drizzle: withDrizzle,
  TypeORM: withTypeOrm,
}
