import { lookup, Resolver } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { Semaphore } from '../../context/semaphore';
import { finishWithin } from '../../context/finish-within';

export interface FoundAddress {
  address: string;
  family: number;
}

export interface NameSettings {
  /** Whether names that only this machine or its network knows are allowed. */
  inside: boolean;
  /** Name servers, if not those of the system. */
  servers?: string[];
  limitMs?: number;
}

const defaultLimitMs = 5000;
const askAgainMs = 1500;
/** Time in ms to wait for the addresses of the second family (IPv4 or IPv6) after those of the first have arrived. */
const otherFamilyMs = 300;
const hostsFile = '/etc/hosts';
const hostsCacheMs = 5000;

/**
 * Looks up host names that callers chose. The system's own lookup occupies one of a few threads while the servers of a
 * name are silent. Two such names would block every lookup of the process, including the database's. So this class
 * queries the name servers itself. It uses the system's lookup only for names that nothing else knows, one name at a
 * time.
 */
export class Names {
  private readonly systemLookups = new Semaphore(1);
  private hosts = new Map<string, FoundAddress[]>();
  private hostsReadAt = -Infinity;

  constructor(private readonly settings: NameSettings) {}

  /**
   * Returns all addresses of a name within the time limit. If there are none, throws an error with the code of the
   * reason.
   */
  async findAddresses(hostname: string): Promise<FoundAddress[]> {
    const { limitMs = defaultLimitMs } = this.settings;
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const local = (await this.readHostsFile()).get(name);
    if (local) return local;
    const resolver = new Resolver({ timeout: askAgainMs, tries: 2 });
    if (this.settings.servers) resolver.setServers(this.settings.servers);
    const over = new AbortController();
    const throwTimeout = () => {
      throw createNameError('ETIMEOUT', name);
    };
    try {
      return await finishWithin(limitMs, this.queryResolver(resolver, name, over.signal), throwTimeout);
    } finally {
      over.abort();
      resolver.cancel();
    }
  }

  private async queryResolver(resolver: Resolver, name: string, over: AbortSignal): Promise<FoundAddress[]> {
    const families = [resolveAddressFamily(resolver, name, 4), resolveAddressFamily(resolver, name, 6)];
    try {
      await Promise.any(families);
    } catch (error) {
      const codes = (error as AggregateError).errors.map(({ code }: NodeJS.ErrnoException) => code ?? 'EAI_FAIL');
      const unanswered = codes.find((code) => !isNotFoundCode(code));
      if (unanswered) throw createNameError(unanswered, name);
      if (!this.settings.inside) throw createNameError('ENOTFOUND', name);
      return this.querySystemResolver(name, over);
    }
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<FoundAddress[]>((resolve) => (timer = setTimeout(resolve, otherFamilyMs, [])));
    const found = await Promise.all(families.map((each) => Promise.race([each.catch(() => []), enough])));
    clearTimeout(timer);
    return found.flat();
  }

  /**
   * Asks the system's own lookup, which covers search domains, mDNS and everything else that the system is configured
   * for.
   */
  private async querySystemResolver(name: string, over: AbortSignal): Promise<FoundAddress[]> {
    const leave = await this.systemLookups.acquire(over);
    return new Promise((resolve, reject) => {
      lookup(name, { all: true }, (error, addresses) => {
        leave();
        if (error) reject(error);
        else resolve(addresses);
      });
    });
  }

  private async readHostsFile(): Promise<Map<string, FoundAddress[]>> {
    if (performance.now() - this.hostsReadAt < hostsCacheMs) return this.hosts;
    this.hostsReadAt = performance.now();
    const text = await readFile(hostsFile, 'utf8').catch(() => '');
    this.hosts = parseHostsFile(text);
    return this.hosts;
  }
}

function resolveAddressFamily(resolver: Resolver, name: string, family: 4 | 6): Promise<FoundAddress[]> {
  return new Promise((resolve, reject) => {
    resolver[family === 4 ? 'resolve4' : 'resolve6'](name, (error, addresses) => {
      if (error) reject(error);
      else if (addresses.length === 0) reject(createNameError('ENODATA', name));
      else resolve(addresses.map((address) => ({ address, family })));
    });
  });
}

/**
 * Whether the error means that the name does not exist or that no name server could be queried. The system's own lookup
 * may still know the name.
 */
function isNotFoundCode(code: string): boolean {
  return ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME', 'ENONAME'].includes(code);
}

function createNameError(code: string, name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code} ${name}`), { code });
}

function parseHostsFile(text: string): Map<string, FoundAddress[]> {
  const hosts = new Map<string, FoundAddress[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || names.length === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family: address.includes(':') ? 6 : 4 }]);
    }
  }
  return hosts;
}
