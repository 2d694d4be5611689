import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { installationsRead } from '../api/generated';

/** A link with the name of a pack's installation, to the pack. */
export function InstallationLink({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['packs', 'installation', id],
    queryFn: ({ signal }) => installationsRead({ path: { id }, signal }),
    staleTime: 60_000,
  });
  if (!data) return <code className="font-mono text-xs break-all">{id}</code>;
  return (
    <Link to="/packs/$id" params={{ id: data.packId }} className="text-accent hover:underline">
      <bdi>{data.name}</bdi>
    </Link>
  );
}
