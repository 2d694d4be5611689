/** By version, at error correction level L: number of error correction codewords per block, and number of blocks. */
const correctionCodewords = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const blockCounts = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];

/** Draws a text of at most 858 bytes as a scalable QR code (ISO/IEC 18004: byte mode, level L, mask 0). */
export function drawQrSvg(text: string): string {
  const modules = computeQrModules(Buffer.from(text));
  const side = modules.length + 8;
  const path = modules.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges">` +
    `<rect width="${side}" height="${side}" fill="#fff"/><path d="${path.join('')}"/></svg>`
  );
}

function computeQrModules(bytes: Buffer): boolean[][] {
  const version =
    blockCounts.findIndex((_, at) => countDataCodewords(at + 1) * 8 >= countHeaderBits(at + 1) + bytes.length * 8) + 1;
  if (version === 0) throw new Error(`${bytes.length} bytes are too many for a QR code`);
  const size = version * 4 + 17;
  const modules = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const isFixed = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const setFixedModule = (x: number, y: number, dark: boolean) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    modules[y]![x] = dark;
    isFixed[y]![x] = true;
  };
  drawFunctionPatterns(version, size, setFixedModule);
  const codewords = addCorrectionCodewords(version, encodeDataCodewords(version, bytes));
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (isFixed[y]![x]) continue;
        const dark = bit < codewords.length * 8 && ((codewords[bit >> 3]! >> (7 - (bit & 7))) & 1) === 1;
        modules[y]![x] = dark !== ((x + y) % 2 === 0);
        bit += 1;
      }
    }
  }
  return modules;
}

function drawFunctionPatterns(
  version: number,
  size: number,
  setFixedModule: (x: number, y: number, dark: boolean) => void,
): void {
  for (let at = 0; at < size; at += 1) {
    setFixedModule(6, at, at % 2 === 0);
    setFixedModule(at, 6, at % 2 === 0);
  }
  for (const [left, top] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    for (let dy = -4; dy <= 4; dy += 1) {
      for (let dx = -4; dx <= 4; dx += 1) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        setFixedModule(left + dx, top + dy, ring !== 2 && ring !== 4);
      }
    }
  }
  const centres = computeAlignmentCentres(version, size);
  const last = centres.length - 1;
  centres.forEach((y, row) =>
    centres.forEach((x, column) => {
      if ((row === 0 && column === 0) || (row === 0 && column === last) || (row === last && column === 0)) return;
      for (let dy = -2; dy <= 2; dy += 1) {
        for (let dx = -2; dx <= 2; dx += 1) setFixedModule(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
      }
    }),
  );
  // The header states error correction level L and mask 0.
  const format = ((1 << 13) | polynomialRemainder(1 << 3, 10, 0x537)) ^ 0x5412;
  for (let at = 0; at < 15; at += 1) {
    const dark = ((format >> at) & 1) === 1;
    setFixedModule(8, at < 6 ? at : at < 8 ? at + 1 : size - 15 + at, dark);
    setFixedModule(at < 8 ? size - 1 - at : at === 8 ? 7 : 14 - at, 8, dark);
  }
  setFixedModule(8, size - 8, true);
  if (version < 7) return;
  const number = (version << 12) | polynomialRemainder(version, 12, 0x1f25);
  for (let at = 0; at < 18; at += 1) {
    const [a, b] = [size - 11 + (at % 3), Math.floor(at / 3)];
    setFixedModule(a, b, ((number >> at) & 1) === 1);
    setFixedModule(b, a, ((number >> at) & 1) === 1);
  }
}

function computeAlignmentCentres(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - (count - 2 - at) * step)];
}

/** Returns the remainder of a polynomial division over GF(2). */
function polynomialRemainder(value: number, degree: number, divisor: number): number {
  let rest = value;
  for (let at = 0; at < degree; at += 1) rest = (rest << 1) ^ ((rest >> (degree - 1)) * divisor);
  return rest;
}

/** Returns the number of header bits: 4 for the mode, and 8 or 16 for the length. */
function countHeaderBits(version: number): number {
  return version < 10 ? 12 : 20;
}

function countCodewords(version: number): number {
  const count = Math.floor(version / 7) + 2;
  const alignment = version === 1 ? 0 : (25 * count - 10) * count - 55 + (version < 7 ? 0 : 36);
  return Math.floor(((16 * version + 128) * version + 64 - alignment) / 8);
}

function countDataCodewords(version: number): number {
  return countCodewords(version) - correctionCodewords[version - 1]! * blockCounts[version - 1]!;
}

function encodeDataCodewords(version: number, bytes: Buffer): number[] {
  const length = bytes.length.toString(2).padStart(countHeaderBits(version) - 4, '0');
  const bits = `0100${length}${[...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')}`;
  const capacity = countDataCodewords(version);
  const codewords = (`${bits}0000`.slice(0, capacity * 8).match(/.{1,8}/g) ?? []).map((each) =>
    parseInt(each.padEnd(8, '0'), 2),
  );
  for (let at = 0; codewords.length < capacity; at += 1) codewords.push(at % 2 === 0 ? 0xec : 0x11);
  return codewords;
}

/** Splits the data into blocks, computes the Reed-Solomon codewords of each block, and interleaves both. */
function addCorrectionCodewords(version: number, data: number[]): number[] {
  const [degree, count] = [correctionCodewords[version - 1]!, blockCounts[version - 1]!];
  const total = countCodewords(version);
  const shortBlocks = count - (total % count);
  const shortLength = Math.floor(total / count) - degree;
  const divisor = computeGeneratorPolynomial(degree);
  const blocks: number[][] = [];
  const corrections: number[][] = [];
  for (let at = 0, from = 0; at < count; at += 1) {
    const block = data.slice(from, (from += shortLength + (at < shortBlocks ? 0 : 1)));
    blocks.push(block);
    corrections.push(computeCorrectionCodewords(block, divisor));
  }
  return [...interleaveBlocks(blocks, shortLength + 1), ...interleaveBlocks(corrections, degree)];
}

function interleaveBlocks(blocks: number[][], length: number): number[] {
  return Array.from({ length }, (_, at) => blocks.flatMap((block) => (at < block.length ? [block[at]!] : []))).flat();
}

function computeGeneratorPolynomial(degree: number): number[] {
  const divisor = [...new Array<number>(degree - 1).fill(0), 1];
  let root = 1;
  for (let round = 0; round < degree; round += 1) {
    for (let at = 0; at < degree; at += 1) {
      divisor[at] = multiplyInGf256(divisor[at]!, root) ^ (at + 1 < degree ? divisor[at + 1]! : 0);
    }
    root = multiplyInGf256(root, 2);
  }
  return divisor;
}

function computeCorrectionCodewords(block: number[], divisor: number[]): number[] {
  const rest = new Array<number>(divisor.length).fill(0);
  for (const word of block) {
    const factor = word ^ rest.shift()!;
    rest.push(0);
    divisor.forEach((each, at) => (rest[at]! ^= multiplyInGf256(each, factor)));
  }
  return rest;
}

/** Returns the product in GF(256), the field that QR codes use. */
function multiplyInGf256(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    result = (result << 1) ^ ((result >> 7) * 0x11d);
    result ^= ((b >> bit) & 1) * a;
  }
  return result;
}
