import { Composite } from './composite';
import { Conversion } from './conversion';

/** A practice's images on this machine: of one patient's teeth in one picture, or of files as pictures. */
export function Imaging({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  return (
    <>
      <Composite agentId={agentId} mayAsk={mayAsk} />
      <Conversion agentId={agentId} mayAsk={mayAsk} />
    </>
  );
}
