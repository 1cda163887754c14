// A reporter for Stryker that names each survivor as soon as it is found: a run that is stopped half-way has told what it knew.
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'

class Survivors {
  onMutantTested({ status, fileName, location, mutatorName, replacement }) {
    if (status !== 'Survived' && status !== 'NoCoverage' && status !== 'Timeout') return
    const what = `${mutatorName}: ${(replacement ?? '').replaceAll(/\s+/g, ' ').slice(0, 80)}`
    const { line, column } = location.start
    console.log(`${status.toUpperCase()} ${fileName}:${line}:${column} ${what}`)
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'survivors', Survivors)]
