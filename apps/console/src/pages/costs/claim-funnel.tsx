import type { RoiClaims } from '../../api/generated';
import { formatCount, formatShare } from '../../format/format';

/** Claims from the attempt to their outcome, each with its number, its share and a bar. */
export function ClaimFunnel({ claims }: { claims: RoiClaims }) {
  const { attempted, eobUploaded, noEobFound, failed } = claims;
  const stages: [name: string, count: number, fill: string][] = [
    ['Attempted', attempted, 'bg-accent'],
    ['Processed', eobUploaded + noEobFound, 'bg-accent'],
    ['EOB uploaded', eobUploaded, 'bg-good'],
    ['No EOB found', noEobFound, 'bg-idle'],
    ['Failed', failed, 'bg-bad'],
  ];
  return (
    <div className="min-w-0">
      <table aria-label="Claims by outcome" className="w-full [&_td]:py-1 [&_td]:pl-3 [&_th]:py-1">
        <thead className="sr-only">
          <tr>
            {['Outcome', 'Share', 'Claims', 'Percent'].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stages.map(([name, count, fill]) => (
            <tr key={name}>
              <th scope="row" className="w-44 text-left font-normal">
                {name}
              </th>
              <td>
                <div className="h-4 rounded-xs bg-sunken">
                  <div
                    className={`h-full rounded-xs ${fill}`}
                    style={{ width: `${attempted === 0 ? 0 : (100 * count) / attempted}%` }}
                  />
                </div>
              </td>
              <td className="w-16 text-right font-medium tabular-nums">{formatCount(count)}</td>
              <td className="w-16 text-right text-dim tabular-nums">{formatShare(count, attempted)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-1 text-xs text-dim">The batches below list these claims with their runs.</p>
    </div>
  );
}
