import { S3Error } from '../errors';
import type { Call } from '../operation';
import type { PayloadOptions } from '../wire/payload';
import { parseXml, type XmlElement } from '../wire/xml';

/** The only bodies that are ever whole in memory, so they are the only ones with a small limit. */
export async function readXmlBody(
  call: Call,
  rootName: string,
  { ignoreChecksumHeaders }: Pick<PayloadOptions, 'ignoreChecksumHeaders'> = {},
): Promise<XmlElement> {
  const chunks: Buffer[] = [];
  try {
    const payload = call.openPayload({ maxBytes: MAX_XML_BYTES, ignoreChecksumHeaders });
    for await (const chunk of payload.chunks) chunks.push(chunk);
  } catch (error) {
    throw error instanceof S3Error && error.code === 'EntityTooLarge' ? new S3Error('MaxMessageLengthExceeded') : error;
  }
  try {
    return parseXml(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)), rootName);
  } catch (error) {
    throw error instanceof S3Error ? error : new S3Error('MalformedXML');
  }
}

const MAX_XML_BYTES = 4 * 1024 ** 2;
