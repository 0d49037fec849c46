import com.surftools.BeanstalkClient.BeanstalkException;
import com.surftools.BeanstalkClient.Client;
import com.surftools.BeanstalkClient.Job;
import com.surftools.BeanstalkClientImpl.ClientImpl;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HexFormat;
import java.util.Map;

/** com.surftools.BeanstalkClient, driven command by command. */
public class Beanstalk {
  private Client client;

  public static void main(String[] arguments) throws IOException {
    Beanstalk driven = new Beanstalk();
    driven.connect();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      try {
        answer = driven.answer(line.split("\t"));
      } catch (RuntimeException error) {
        answer = "error " + String.valueOf(error).replaceAll("\\s+", " ");
      }
      System.out.println(answer);
    }
  }

  private void connect() {
    String[] address = System.getenv("BEANSTALKD_URL").split(":");
    client = new ClientImpl(address[0], Integer.parseInt(address[1]));
  }

  private String answer(String[] words) {
    switch (words[0]) {
      case "connect":
        connect();
        return "ok";
      case "put":
        return put(words);
      case "watch":
        client.watch(words[1]);
        return "ok";
      case "ignore":
        client.ignore(words[1]);
        return "ok";
      case "reserve":
        return reserve(Integer.parseInt(words[1]));
      case "delete":
        return done(client.delete(Long.parseLong(words[1])));
      case "release":
        return done(client.release(
            Long.parseLong(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3])));
      case "bury":
        return done(client.bury(Long.parseLong(words[1]), Long.parseLong(words[2])));
      case "touch":
        return done(client.touch(Long.parseLong(words[1])));
      case "kick":
        client.useTube(words[1]);
        client.kick(Integer.parseInt(words[2]));
        return "ok";
      case "stats":
        return stats(client.stats());
      case "stats-tube":
        return stats(client.statsTube(words[1]));
      case "stats-job":
        return stats(client.statsJob(Long.parseLong(words[1])));
      case "tubes":
        return "tubes\t" + String.join("\t", client.listTubes());
      default:
        throw new IllegalArgumentException("no such command: " + words[0]);
    }
  }

  private String put(String[] words) {
    client.useTube(words[1]);
    return "id\t" + client.put(Long.parseLong(words[2]), Integer.parseInt(words[3]),
        Integer.parseInt(words[4]), HexFormat.of().parseHex(words[5]));
  }

  private String reserve(int seconds) {
    Job job = client.reserve(seconds);
    if (job == null) {
      return "none";
    }
    return "job\t" + job.getJobId() + "\t" + HexFormat.of().formatHex(job.getData());
  }

  /** The library answers false where the server answers NOT_FOUND. */
  private static String done(boolean isDone) {
    if (!isDone) {
      throw new BeanstalkException("not found");
    }
    return "ok";
  }

  private static String stats(Map<String, String> values) {
    StringBuilder answer = new StringBuilder("stats");
    values.forEach((name, value) -> answer.append("\t").append(name).append("=").append(value));
    return answer.toString();
  }
}
