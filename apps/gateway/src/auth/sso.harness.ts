import { type Answer, HttpClient } from '@muster/testing';

/** A browser with its cookies, which follows a redirect only when the test says so. */
export class TestBrowser {
  private readonly cookies = new Map<string, Map<string, string>>();

  /** `publicAddress` is the address of the service in the browser; `url` is where it really listens. */
  constructor(
    private readonly service: { publicAddress: string; url: string },
    private readonly headers: Record<string, string> = {},
  ) {}

  async openAddress(address: string, headers: Record<string, string> = {}): Promise<Answer & { location: URL | null }> {
    const { origin, pathname, search } = new URL(address, this.service.publicAddress);
    const jar = this.cookies.get(origin) ?? new Map<string, string>();
    this.cookies.set(origin, jar);
    const target = origin === this.service.publicAddress ? this.service.url : origin;
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const own = { ...this.headers, ...headers, ...(cookie ? { cookie } : {}) };
    const answer = await new HttpClient(target, own).get(`${pathname}${search}`);
    for (const set of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = set.split(/;\s*/);
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      if (attributes.some((each) => /^max-age=0$/i.test(each))) jar.delete(name);
      else jar.set(name, value);
    }
    const location = answer.headers.get('location');
    return { ...answer, location: location === null ? null : new URL(location, origin) };
  }

  /** Returns the value of a cookie of the service. */
  getCookie(name: string): string | undefined {
    return this.cookies.get(this.service.publicAddress)?.get(name);
  }

  /** Starts a sign-in and follows the redirects at the provider; returns the address that leads back to the service. */
  async signInAtProvider(email: string): Promise<string> {
    let { location } = await this.openAddress(`/api/auth/sso/start?email=${encodeURIComponent(email)}`);
    for (let hops = 0; location && location.origin !== this.service.publicAddress && hops < 10; hops += 1) {
      ({ location } = await this.openAddress(location.href));
    }
    if (!location) throw new Error('the provider did not send the browser back');
    return location.href;
  }
}
