import { Browser } from '../service/oauth/browser.ts'

/** Signs in and gives consent, like a user in a browser. */
export async function agreeInBrowser(email: string, password: string, url: string): Promise<void> {
  const browser = new Browser()
  const start = await browser.open(url)
  const page = await browser.open(start.url)
  const consent = await browser.submit(page, { email, password, decision: 'allow' })
  await browser.open((await browser.submit(consent, { decision: 'allow' })).url)
}
