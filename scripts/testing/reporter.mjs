/**
 * Writes down what the runner does, line by line as it happens, so that a run which is killed leaves what it had by then:
 *
 *   {"selected": [{project, file}]}     what this run will look at
 *   {"ended": {project, file, tests, ...}}  one file, when it is over
 *   {"over": {reason, stray}}           the end; `stray` are errors outside of every test
 */
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'

export default class Recorder {
  #file = process.env['PUNCTUAL_TEST_RECORD']

  #say(line) {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  onTestRunStart(specifications) {
    this.#say({
      selected: specifications.map(({ project, moduleId }) => ({
        project: project.name,
        file: relative(project.config.root, moduleId),
        path: moduleId,
      })),
    })
  }

  onTestModuleEnd(module) {
    const { duration, collectDuration, setupDuration, prepareDuration, environmentSetupDuration } =
      module.diagnostic()
    this.#say({
      ended: {
        project: module.project.name,
        file: module.relativeModuleId,
        path: module.moduleId,
        state: module.state(),
        testsMs: duration,
        importsMs: collectDuration + setupDuration + prepareDuration + environmentSetupDuration,
        costs: module.meta().costs,
        errors: module.errors().map(messageOf),
        tests: [...module.children.allTests()].map((test) => {
          const { state, errors = [] } = test.result()
          const ms = test.diagnostic()?.duration ?? 0
          return { name: test.fullName, state, ms, message: errors.map(messageOf)[0] }
        }),
        suiteErrors: [...module.children.allSuites()].flatMap((suite) => suite.errors().map(messageOf)),
      },
    })
  }

  onTestRunEnd(_modules, unhandled, reason) {
    const stray = unhandled.map((error) => ({ path: error.VITEST_TEST_PATH, message: messageOf(error) }))
    this.#say({ over: { reason, stray } })
  }
}

function messageOf({ message }) {
  return (message ?? 'an error without a message').split('\n')[0]
}
