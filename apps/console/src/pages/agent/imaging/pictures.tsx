import { useState } from 'react';
import { getAdvice } from '../../../api/advice';
import type { ConvertedImage, ImagingImagesOutput } from '../../../api/generated';
import { formatCount } from '../../../format/format';
import { Button } from '../../../ui/button';

const atOnce = 60;

/** Converted images, and a table of the files that failed, with reasons. */
export function ConvertedImages({ output: { images, converted, failed } }: { output: ImagingImagesOutput }) {
  const [shown, setShown] = useState(atOnce);
  const made = images.filter(({ fullKey }) => fullKey !== null);
  const faults = images.filter(({ fullKey }) => fullKey === null);
  return (
    <>
      <p>
        {formatCount(converted)} converted{failed > 0 && `, ${formatCount(failed)} failed`}
      </p>
      {faults.length > 0 && <PictureFaults images={faults} />}
      <ul className="grid grid-cols-2 gap-2 sm:grid-cols-4 xl:grid-cols-6">
        {made.slice(0, shown).map((image) => (
          <ConvertedPicture key={image.ordinal} image={image} />
        ))}
      </ul>
      {made.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>Show more ({formatCount(made.length - shown)} left)</Button>
      )}
    </>
  );
}

function ConvertedPicture({ image: { filename, fullUrl, thumbnailUrl, width, height } }: { image: ConvertedImage }) {
  const size = width && height ? `${width} × ${height}` : '';
  return (
    <li data-testid="image" className="min-w-0">
      {fullUrl && thumbnailUrl ? (
        <a href={fullUrl} target="_blank" rel="noreferrer" className="block">
          <img
            src={thumbnailUrl}
            alt={`Image ${filename}`}
            loading="lazy"
            className="aspect-4/3 w-full rounded-control border border-line bg-sunken object-contain"
          />
        </a>
      ) : (
        <p className="flex aspect-4/3 items-center justify-center rounded-control bg-sunken text-dim">
          Not available now
        </p>
      )}
      <p className="truncate text-xs" title={filename}>
        <bdi>{filename}</bdi>
      </p>
      <p className="text-xs text-dim">{size}</p>
    </li>
  );
}

function PictureFaults({ images }: { images: ConvertedImage[] }) {
  return (
    <div tabIndex={0} role="region" aria-label="Images that failed" className="max-h-60 overflow-auto">
      <table className="w-full">
        <caption className="sr-only">Images that failed</caption>
        <thead className="text-left text-xs text-dim">
          <tr>
            <th scope="col" className="pb-1 font-medium">
              File
            </th>
            <th scope="col" className="pb-1 font-medium">
              Reason
            </th>
          </tr>
        </thead>
        <tbody>
          {images.map(({ ordinal, filename, code, error }) => (
            <tr key={ordinal} data-testid="image-fault" className="border-t border-line align-top">
              <td className="max-w-48 py-1 pr-3 break-all">
                <bdi>{filename}</bdi>
              </td>
              <td className="py-1">
                <bdi>{error ?? getAdvice(code)}</bdi> <code className="font-mono text-xs text-dim">{code}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
