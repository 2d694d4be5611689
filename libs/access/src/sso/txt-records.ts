import { Resolver } from 'node:dns/promises';
import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import { SignInConfig } from '../authentication/sign-in.config';

/** Error codes of a name that exists without TXT records, or does not exist. */
const missing = ['ENODATA', 'ENOTFOUND'];

/** Reads TXT records from the DNS. */
@Injectable()
export class TxtRecords {
  private readonly resolver = new Resolver({ timeout: 3000, tries: 2 });

  constructor(@Inject(SignInConfig) { domainProofDnsServers }: SignInConfig) {
    if (domainProofDnsServers.length > 0) this.resolver.setServers(domainProofDnsServers);
  }

  /** Returns the values of all TXT records of a name. Throws service_unavailable if no server answers. */
  async readTxtRecords(name: string): Promise<string[]> {
    try {
      const records = await this.resolver.resolveTxt(name);
      // A TXT value that is longer than 255 bytes is split into several strings.
      return records.map((parts) => parts.join(''));
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (missing.includes(code)) return [];
      throw new AppError('service_unavailable', {
        detail: `The DNS servers do not answer for ${name} (${code}). Try again later.`,
      });
    }
  }
}
