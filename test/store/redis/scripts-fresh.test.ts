import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the embedded scripts are the .lua files as they are now', async () => {
  const embed = fileURLToPath(new URL('../../../scripts/embed-lua.mjs', import.meta.url))
  const check = promisify(execFile)(process.execPath, [embed, '--check'])
  await expect(check).resolves.toMatchObject({ stderr: '' })
})
