import { Browser } from '../service/oauth/browser.ts'

/** A person at a browser who signs in and agrees. */
export async function agreeInBrowser(email: string, password: string, url: string): Promise<void> {
  const browser = new Browser()
  const start = await browser.open(url)
  const page = await browser.open(start.url)
  const consent = await browser.submit(page, { email, password, decision: 'allow' })
  const { url: callback } = await browser.submit(consent, { decision: 'allow' })
  await browser.open(callback)
}
