import type { BundleFaultReason } from '@muster/contracts';

const typeMask = 0o170000;
const [plain, folder, link] = [0o100000, 0o040000, 0o120000];
const dosFolder = 0x10;
const dosReparsePoint = 0x400;

/**
 * What an entry's attributes make of it on the machine that unpacks it, whatever system it says that it comes from:
 * a plain file or a folder as its name says, or something that no bundle has.
 */
export function faultOfKind(attributes: number, isFolder: boolean): BundleFaultReason | null {
  const type = (attributes >>> 16) & typeMask;
  if (type === link || (attributes & dosReparsePoint) !== 0) return 'link';
  if (type !== 0 && type !== plain && type !== folder) return 'device';
  const saysFolder = type === folder || (type === 0 && (attributes & dosFolder) !== 0);
  const saysFile = type === plain;
  return (saysFolder && !isFolder) || (saysFile && isFolder) ? 'bad_name' : null;
}
