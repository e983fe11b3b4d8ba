import { KubeletError } from "../../../lib/base/errors.ts";

export interface PolicyOptions {
  readonly preferClosest: boolean;
  readonly maxNumaNodes: number;
}

const defaultMaxNumaNodes = 8;

/** topologyManagerPolicyOptions; throws on an unknown option and on a bad value. */
export function policyOptions(given: Readonly<Record<string, string>>): PolicyOptions {
  let options: PolicyOptions = { preferClosest: false, maxNumaNodes: defaultMaxNumaNodes };
  for (const [name, value] of Object.entries(given))
    switch (name) {
      case "prefer-closest-numa-nodes":
        options = { ...options, preferClosest: booleanOf(name, value) };
        break;
      case "max-allowable-numa-nodes":
        options = { ...options, maxNumaNodes: maximumOf(name, value) };
        break;
      default:
        throw invalid(`unknown Topology Manager Policy option: ${JSON.stringify(name)}`);
    }
  return options;
}

function booleanOf(name: string, value: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(value)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(value)) return false;
  const cause = `strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
  throw invalid(`bad value for option ${JSON.stringify(name)}: ${cause}`);
}

function maximumOf(name: string, value: string): number {
  if (!/^[+-]?\d{1,15}$/.test(value)) {
    const cause = `strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`;
    throw invalid(`unable to convert policy option to integer ${JSON.stringify(name)}: ${cause}`);
  }
  if (Number(value) < defaultMaxNumaNodes)
    throw invalid(
      `the minimum value of ${JSON.stringify(name)} should not be less than ${defaultMaxNumaNodes}`,
    );
  return Number(value);
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidTopologyManagerPolicy", message);
}
