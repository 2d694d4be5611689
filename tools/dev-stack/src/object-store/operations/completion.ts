import { CHECKSUM_ALGORITHMS, checksumHeader, type ChecksumAlgorithm } from '../wire/checksums';
import { S3Error } from '../errors';
import type { Call } from '../operation';
import type { Upload } from '../storage/uploads';
import { childText, type XmlElement } from '../wire/xml';
import { readXmlBody } from './xml-body';

export interface CompletedPart {
  number: number;
  etag: string;
  checksums: { algorithm: ChecksumAlgorithm; value: string }[];
}

/** The client's own list of parts, and the checksum it expects of the whole object. */
export async function readCompletion(
  call: Call,
  upload: Upload,
): Promise<{ listed: CompletedPart[]; promised?: string }> {
  const { headers } = call.request;
  const type = headers.get('x-amz-checksum-type');
  if (type !== undefined && type !== upload.checksum?.type) {
    throw new S3Error('InvalidRequest', {
      message: 'The checksum type does not match the one the upload was created with.',
    });
  }
  const root = await readXmlBody(call, 'CompleteMultipartUpload', { ignoreChecksumHeaders: true });
  const listed = root.children.map(readPart);
  if (listed.length === 0) throw new S3Error('MalformedXML');
  if (listed.some(({ number }, position) => position > 0 && number <= listed[position - 1]!.number)) {
    throw new S3Error('InvalidPartOrder', { UploadId: upload.id });
  }
  const { checksum } = upload;
  if (checksum?.type === 'COMPOSITE' && listed.some(({ checksums }) => checksums.length === 0)) {
    throw new S3Error('InvalidRequest', {
      message: `The upload was created using a ${checksum.algorithm.toLowerCase()} checksum. The complete request must include the checksum for each part.`,
    });
  }
  return { listed, promised: checksum && headers.get(checksumHeader(checksum.algorithm)) };
}

function readPart(element: XmlElement): CompletedPart {
  const number = childText(element, 'PartNumber') ?? '';
  const etag = (childText(element, 'ETag') ?? '').replace(/^"(.*)"$/, '$1');
  if (element.name !== 'Part' || !/^\d{1,5}$/.test(number) || etag === '') throw new S3Error('MalformedXML');
  return {
    number: Number(number),
    etag,
    checksums: CHECKSUM_ALGORITHMS.flatMap((algorithm) => {
      const value = childText(element, `Checksum${algorithm}`);
      return value === undefined ? [] : [{ algorithm, value }];
    }),
  };
}
