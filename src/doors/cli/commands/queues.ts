import { Punctual } from '../../../index.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

export const queues = defineCommand({
  name: 'queues',
  summary: 'the names of the queues in the store',
  operands: '',
  arity: [0, 0],
  options: {},
  examples: [['punctual queues', 'then: punctual stats --queue NAME']],
  notes: ['On a server that many others use, only a part of it is looked through; a last line says so.'],
  makesStore: false,
  run: async ({ store, out, err, json }) => {
    const found = await Punctual.queues(store)
    if (json) {
      out.json(found)
      return EXIT.fine
    }
    for (const name of found.names) out.line(printable(name))
    if (found.names.length === 0) err.line(err.style.dim('no queues'))
    if (!found.isComplete)
      err.line(err.style.dim('there may be more: the store was not looked through to its end'))
    return EXIT.fine
  },
})
