import { exportEnvironment } from '../history/export-run.ts'
import { testResume } from '../history/resume-suite.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { takeSample } from '../support/take-sample.ts'

testResume(
  'an export that was killed',
  (sandbox, url) => {
    const child = startBuilt(sandbox, ['history', 'export'], { env: exportEnvironment(url) })
    child.stdout?.resume()
    child.stderr?.resume()
    return { end: () => child.kill('SIGKILL'), ended: new Promise((resolve) => child.once('close', resolve)) }
  },
  null,
  takeSample([1, 2, 5, 9], 1).sample,
)
