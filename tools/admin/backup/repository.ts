import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { AdminError } from '../admin-error';
import { type Place, readText } from '../place/place';

/** The operator's keys, with which backups are encrypted and decrypted. */
export interface BackupKeys {
  passphrase?: string;
  /** Public keys, `age1…`. Taking backups needs nothing else. */
  recipients: string[];
  /** Secret keys, `AGE-SECRET-KEY-1…`. */
  identities: string[];
}

interface RepositoryHeader {
  format: number;
  /**
   * Public key with which every file is encrypted. Its secret key is stored in repository.key.age, encrypted with the
   * operator's keys.
   */
  recipient: string;
  sealedFor: 'passphrase' | string[];
}

const format = 1;
const headerPath = 'repository.json';
const keyPath = 'repository.key.age';

/** A location with backups, and the key that encrypts them (age: X25519 and ChaCha20-Poly1305). */
export class Repository {
  private identity?: Promise<string>;

  private constructor(
    readonly place: Place,
    private readonly header: RepositoryHeader,
    private readonly keys: BackupKeys,
  ) {}

  static async open(place: Place, keys: BackupKeys): Promise<Repository> {
    const header = await readHeader(place);
    if (!header) throw new AdminError(`There are no backups in ${place.name}.`);
    return new Repository(place, header, keys);
  }

  /** Opens the existing repository if it is encrypted for the same keys, or creates a new one. */
  static async openOrCreate(place: Place, keys: BackupKeys): Promise<Repository> {
    const existing = await readHeader(place);
    if (!existing) return new Repository(place, await createHeader(place, keys), keys);
    const repository = new Repository(place, existing, keys);
    await repository.requireSameKeys();
    return repository;
  }

  async seal(content: Readable): Promise<Readable> {
    const encrypter = new Encrypter();
    encrypter.addRecipient(this.header.recipient);
    return fromWebStream(await encrypter.encrypt(toWebStream(content)));
  }

  async unseal(content: Readable, path: string): Promise<Readable> {
    const decrypter = new Decrypter();
    decrypter.addIdentity(await this.requireIdentity());
    try {
      return fromWebStream(await decrypter.decrypt(toWebStream(content)));
    } catch {
      throw new AdminError(`The file ${path} in ${this.place.name} is damaged: it cannot be decrypted.`);
    }
  }

  /** Decrypts the repository's key with the operator's keys. */
  requireIdentity(): Promise<string> {
    return (this.identity ??= this.findDecryptionIdentity());
  }

  private async findDecryptionIdentity(): Promise<string> {
    const { passphrase, identities } = this.keys;
    const { sealedFor } = this.header;
    const hint =
      sealedFor === 'passphrase'
        ? 'MUSTER_BACKUP_PASSPHRASE or --passphrase-file to the passphrase of the first backup'
        : `--identity to the file with the secret key of ${sealedFor.join(' or ')}`;
    if (sealedFor === 'passphrase' ? !passphrase : identities.length === 0)
      throw new AdminError(`The backups in ${this.place.name} are encrypted: set ${hint}.`);
    const sealed = await this.place.read(keyPath);
    if (!sealed)
      throw new AdminError(
        `The file ${keyPath} is missing in ${this.place.name}: none of the backups can be decrypted.`,
      );
    const decrypter = new Decrypter();
    if (sealedFor === 'passphrase') decrypter.addPassphrase(passphrase!);
    else for (const identity of identities) decrypter.addIdentity(identity);
    try {
      return await decrypter.decrypt(await readAllBytes(sealed), 'text');
    } catch (error) {
      const isOther = /no identity matched/.test((error as Error).message);
      throw new AdminError(
        isOther
          ? `The backups in ${this.place.name} were encrypted with another key: set ${hint}.`
          : `The file ${keyPath} in ${this.place.name} is damaged: none of the backups can be decrypted.`,
      );
    }
  }

  private async requireSameKeys(): Promise<void> {
    const { sealedFor } = this.header;
    const { passphrase, recipients } = this.keys;
    if (sealedFor === 'passphrase') {
      if (passphrase) await this.requireIdentity();
      else
        throw new AdminError(
          `The backups in ${this.place.name} are encrypted with a passphrase: set MUSTER_BACKUP_PASSPHRASE or --passphrase-file.`,
        );
    } else if (recipients.toSorted().join() !== sealedFor.join()) {
      throw new AdminError(
        `The backups in ${this.place.name} are encrypted for ${sealedFor.join(', ')}: use the same --recipient, or another location.`,
      );
    }
  }
}

async function readHeader(place: Place): Promise<RepositoryHeader | null> {
  const text = await readText(place, headerPath);
  if (text === null) return null;
  const header = parseJsonOrNull<RepositoryHeader>(text);
  if (!header?.recipient) throw new AdminError(`The file ${headerPath} in ${place.name} is damaged.`);
  if (header.format > format)
    throw new AdminError(`The backups in ${place.name} were made by a newer Muster; use that version of muster-admin.`);
  return header;
}

async function createHeader(place: Place, { passphrase, recipients }: BackupKeys): Promise<RepositoryHeader> {
  const encrypter = new Encrypter();
  if (recipients.length > 0) {
    for (const recipient of recipients) addRecipient(encrypter, recipient);
  } else if (passphrase) encrypter.setPassphrase(passphrase);
  else
    throw new AdminError(
      'Backups are encrypted: set --recipient age1…, or a passphrase in MUSTER_BACKUP_PASSPHRASE or --passphrase-file.',
    );
  for await (const path of place.list(''))
    throw new AdminError(`${place.name} contains other files (${path}); use an empty location for backups.`);
  const identity = await generateX25519Identity();
  await place.write(keyPath, Readable.from([Buffer.from(await encrypter.encrypt(identity))]));
  const header: RepositoryHeader = {
    format,
    recipient: await identityToRecipient(identity),
    sealedFor: recipients.length > 0 ? recipients.toSorted() : 'passphrase',
  };
  await place.write(headerPath, Readable.from([Buffer.from(`${JSON.stringify(header, null, 2)}\n`)]));
  return header;
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient);
  } catch {
    throw new AdminError(`"${recipient}" is not a valid age recipient, such as age1… (age-keygen creates one).`);
  }
}

function parseJsonOrNull<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

async function readAllBytes(content: Readable): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function toWebStream(content: Readable): globalThis.ReadableStream<Uint8Array> {
  return Readable.toWeb(content) as unknown as globalThis.ReadableStream<Uint8Array>;
}

function fromWebStream(content: globalThis.ReadableStream<Uint8Array>): Readable {
  return Readable.fromWeb(content as unknown as ReadableStream<Uint8Array>, { objectMode: false });
}
