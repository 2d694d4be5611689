import type { AccountLinkEntity, Database } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { findLinkToken } from './account-links';

/** Returns the page on which a person uses a link. The token is in the fragment, which browsers send to no server. */
export function buildLinkUrl(address: string, kind: AccountLinkEntity['kind'], token: string): string {
  return `${address}/app/${kind === 'reset' ? 'reset' : 'invitation'}#token=${token}`;
}

export interface AccountMail {
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

interface LinkRow extends Pick<AccountLinkEntity, 'id' | 'kind' | 'email' | 'secretHash'> {
  organizationName: string;
  minutes: number;
  /** Whether the address of an invitation has an account already. */
  hasAccount: boolean;
}

/** Writes the mail of a link; null if the link was used, has expired, or was replaced with a newer one. */
export async function writeAccountMail(
  { database, keyRing, address }: { database: Database; keyRing: KeyRing; address: string },
  linkId: string,
): Promise<AccountMail | null> {
  const [link] = await database.query<LinkRow>(
    'system',
    `SELECT l.id, l.kind, l.email, l.secret_hash, o.name AS organization_name,
            ceil(extract(epoch FROM l.expires_at - muster_now()) / 60)::int AS minutes,
            l.kind = 'invitation' AND EXISTS (SELECT FROM app_user u WHERE u.email = l.email) AS has_account
     FROM account_link l JOIN organization o ON o.id = l.organization_id
     WHERE l.id = $1 AND l.expires_at > muster_now()`,
    [linkId],
  );
  const token = link && findLinkToken(keyRing, link);
  if (!token) return null;
  const url = buildLinkUrl(address, link.kind, token);
  const { subject, before, after } = writeMailTexts(link);
  const paragraphs = [before, ...(link.hasAccount ? [] : [url]), after];
  const html = paragraphs.map(
    (text) => `<p>${text === url ? `<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>` : escapeHtml(text)}</p>`,
  );
  return { id: link.id, to: link.email, subject, text: paragraphs.join('\n\n'), html: html.join('\n') };
}

function writeMailTexts({
  kind,
  organizationName,
  minutes,
  hasAccount,
}: LinkRow): Record<'subject' | 'before' | 'after', string> {
  if (kind === 'reset') {
    return {
      subject: 'Set a new password for Muster',
      before: 'Somebody, probably you, has forgotten the password of your Muster account. Set a new one here:',
      after: `The link works once, for ${minutes} minutes. If you did not ask for it, ignore this mail: your password is unchanged.`,
    };
  }
  const subject = `Invitation to ${organizationName} on Muster`;
  if (hasAccount) {
    return {
      subject,
      before: `You were invited to ${organizationName} on Muster.`,
      after: 'Your address has a Muster account in another organization, so this invitation has no effect.',
    };
  }
  return {
    subject,
    before: `You were invited to ${organizationName} on Muster. Choose a password here:`,
    after: `The link works once, for ${Math.ceil(minutes / 1440)} days. If you do not expect it, ignore this mail.`,
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
