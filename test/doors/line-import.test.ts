import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { importLines, parseEntry, type LineImport } from '../../src/doors/shared/line-import.ts'

type Stored = Parameters<LineImport['onStored']>[0]

function setUp(): { queue: Punctual; steps: Stored[]; run: (input: Readable) => Promise<number> } {
  const queue = new Punctual('memory:')
  onTestFinished(async () => void (await queue.stop()))
  const steps: Stored[] = []
  const run = (input: Readable): Promise<number> =>
    importLines({ input, queue, toEntry: parseEntry, onStored: (step) => steps.push(step) })
  return { queue, steps, run }
}

const bytes = (...texts: readonly string[]): Readable => Readable.from(texts.map((text) => Buffer.from(text)))

const line = (i: number): string => `${JSON.stringify({ topic: 't', payload: i, delay: '1h' })}\n`

it('lines of any number are stored in batches, and each batch is told', async () => {
  const { queue, steps, run } = setUp()
  const lines = Array.from({ length: 2_500 }, (_, i) => line(i))
  expect(await run(bytes(lines.join(''), '\n   \r\n'))).toBe(2_500)
  expect((await queue.stats()).counts.delayed).toBe(2_500)
  expect(steps.map(({ stored }) => stored)).toEqual([1_000, 2_000, 2_500])
  expect(steps.at(-1)?.bytesRead).toBeGreaterThan(2_500 * 10)
})

it('the first bad line ends it, and the failure says which and what was stored before', async () => {
  const { queue, run } = setUp()
  const lines = Array.from({ length: 1_500 }, (_, i) => line(i))
  await expect(run(bytes(...lines, '{oops\n', line(1)))).rejects.toThrow(
    /^line 1501 is not JSON: .* 1,000 messages before it stored; nothing after\.$/,
  )
  expect((await queue.stats()).counts.delayed).toBe(1_000)
})

it('a message that is refused is named by the lines of its batch, with the code of the library', async () => {
  const { run } = setUp()
  await expect(run(bytes(line(1), '{"topic":"t","delay":"soon"}\n'))).rejects.toMatchObject({
    message: expect.stringMatching(/^lines 1 to 2: delay is "soon"/) as string,
    cause: { code: 'DURATION_INVALID' },
  })
})

it('an input that fails in the middle is a failure, not its end', async () => {
  const { run } = setUp()
  const input = new Readable({ read: () => undefined })
  input.push(line(1))
  setImmediate(() => input.destroy(new Error('the line broke')))
  await expect(run(input)).rejects.toThrow(/cannot be read after line 1: the line broke/)
})

it('bytes that are not UTF-8 are refused with their line, and nothing of their batch is stored', async () => {
  const { queue, run } = setUp()
  const bad = Buffer.concat([
    Buffer.from('{"topic":"t","payload":"'),
    Buffer.from([0xff]),
    Buffer.from('"}\n'),
  ])
  await expect(run(Readable.from([Buffer.from(line(1)), bad]))).rejects.toMatchObject({
    message: expect.stringMatching(/^line 2 has bytes that are not UTF-8/) as string,
    cause: { code: 'ENCODING_INVALID' },
  })
  expect((await queue.stats()).counts.delayed).toBe(0)
})
