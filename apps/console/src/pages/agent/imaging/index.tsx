import { Composite } from './composite';
import { Conversion } from './conversion';

/** Dental images on this machine: a composite of one patient's teeth, and converted image files. */
export function Imaging({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  return (
    <>
      <Composite agentId={agentId} mayAsk={mayAsk} />
      <Conversion agentId={agentId} mayAsk={mayAsk} />
    </>
  );
}
